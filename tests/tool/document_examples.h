// The examples `$ felsite …` in the documents, with what they show.
#pragma once

#include "tool_runner.h"

namespace felsite::test {

struct Example {
  std::string line;
  Arguments arguments;
  std::string shown;
};

// The examples of a document of this repository. Paths in /tmp become paths in the scratch folder.
inline std::vector<Example> examples_in(std::string_view document, const Scratch& scratch) {
  std::vector<Example> examples;
  std::istringstream lines(read_whole(FELSITE_SOURCE_DIR + std::string(document)));
  std::string line;
  std::getline(lines, line);
  while (lines) {
    const std::size_t command = line.find("felsite ");
    // Those with a pipe are for reading.
    const bool is_example =
        line.starts_with("$ ") && command != std::string::npos && !contains(line, "echo");
    if (!is_example) {
      std::getline(lines, line);
      continue;
    }
    Example example{.line = line, .arguments = {}, .shown = {}};
    std::istringstream words(line.substr(command + 8));
    for (std::string word; words >> word;) {
      if (word.starts_with("samples/")) word.insert(0, FELSITE_SOURCE_DIR "/");
      if (const std::size_t tmp = word.find("@/tmp/"); tmp != std::string::npos) {
        word.replace(tmp, 6, "@" + scratch.path(""));
      }
      example.arguments.push_back(word);
    }
    while (std::getline(lines, line) && !line.starts_with("$ ") && line != "```") {
      example.shown += line + "\n";
    }
    examples.push_back(std::move(example));
  }
  return examples;
}

inline std::pair<std::string, std::string> split_notes(const std::string& text) {
  std::pair<std::string, std::string> parts;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    (line.starts_with("note: ") ? parts.first : parts.second) += line + "\n";
  }
  return parts;
}

inline std::string without_notes(const std::string& text) { return split_notes(text).second; }

// Both streams as a terminal shows them: notes come before a run, everything else after it.
inline std::string as_shown(const Outcome& outcome) {
  const auto [notes, rest] = split_notes(outcome.err);
  return notes + outcome.out + rest;
}

}  // namespace felsite::test
