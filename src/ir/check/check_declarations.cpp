// Checks the header, the buffers and the signatures of operations.
#include <fmt/format.h>

#include <unordered_map>
#include <unordered_set>

#include "ir/check/validation.h"
#include "ir/text/lexer.h"
#include "ir/text/words.h"

namespace felsite::ir {
namespace {

void check_workgroup_size(const Program& program, Report& report) {
  std::uint64_t invocations = 1;
  for (const std::uint32_t extent : program.workgroup_size()) {
    // Each extent is checked before it is multiplied in, so the product cannot overflow.
    if (extent == 0 || extent > kMaxWorkgroupInvocations) invocations = 0;
    invocations *= extent;
  }
  if (invocations == 0 || invocations > kMaxWorkgroupInvocations) {
    const auto& size = program.workgroup_size();
    report.program(FindingCode::BadWorkgroupSize,
                   fmt::format("A workgroup of {} × {} × {} invocations is not between 1 and {}.",
                               size[0], size[1], size[2], kMaxWorkgroupInvocations),
                   "give every axis at least 1; devices take 128 to 1024 invocations in all.");
  }
}

bool hint_prints(std::string_view hint) {
  return hint.find_first_of("\"\n") == std::string_view::npos &&
         find_bad_byte(hint) == std::string_view::npos;
}

void check_buffer(const Program& program, BufferId id, Report& report) {
  const BufferDecl& buffer = program.buffer(id);
  if (!is_usable_name(buffer.name)) {
    report.buffer(FindingCode::BadName, id,
                  fmt::format("`{}` cannot name a buffer.", buffer.name.substr(0, 60)),
                  "use letters, digits and `_`, not starting with a digit, and no reserved word.");
  }
  for (const std::string& hint : buffer.hints) {
    if (!hint_prints(hint)) {
      report.buffer(FindingCode::BadName, id,
                    "A hint holds a quote, a line break, a NUL or bytes that are not UTF-8.",
                    "use plain words in hints.");
    }
  }
  if (buffer.element == Type::None) {
    report.buffer(FindingCode::TypeNotAllowed, id,
                  fmt::format("Buffer `{}` has no element type.", buffer.name),
                  "give it one of the types bool, u8 … f64.");
  }
  const bool flagged = buffer.output || buffer.pipeline_live_out;
  const bool writable = buffer.access == Access::ReadWrite || buffer.access == Access::WriteOnly;
  if (flagged && !writable) {
    report.buffer(
        FindingCode::BadBufferFlags, id,
        fmt::format("Buffer `{}` is {} and an output.", buffer.name, to_string(buffer.access)),
        "an output must be readwrite or writeonly.");
  }
  const Role role = role_of(buffer);
  if (buffer.count == 0 && (role == Role::Output || role == Role::Shared)) {
    report.buffer(
        FindingCode::BufferSize, id,
        fmt::format(
            "Buffer `{}` has role {} and no fixed count, but no caller's bytes could size it.",
            buffer.name, to_string(role)),
        "give it a count, as in `u32[1024]`, or make it readwrite, so that the caller's bytes size "
        "it.");
  }
}

// Without a type a parameter or a result has no text form.
void check_types(const Program& program, OpId id, Report& report) {
  const OpDecl& op = program.ops()[id];
  const auto refuse = [&](std::string what) {
    report.op(FindingCode::TypeNotAllowed, id,
              fmt::format("{} of operation `{}` has no type.", what, program.name(op.name)),
              "give it one of the types bool, u32 … f64.");
  };
  for (VarId param = op.first_param; param < op.first_param + op.param_count; ++param) {
    if (program.var(param).type == Type::None) {
      refuse(fmt::format("Parameter `{}`", program.var_name(param)));
    }
  }
  if (op.result_type == Type::None) refuse("The result");
}

}  // namespace

void check_declarations(const Program& program, Report& report) {
  if (!is_usable_name(program.name())) {
    report.program(FindingCode::BadName,
                   fmt::format("`{}` cannot name a program.", program.name().substr(0, 60)),
                   "use letters, digits and `_`, not starting with a digit, and no reserved word.");
  }
  if (program.entry().empty()) {
    report.program(FindingCode::EmptyProgram, "The program has no statements.",
                   "add at least one statement; `return;` is the smallest.");
  }
  check_workgroup_size(program, report);

  std::unordered_map<std::string_view, BufferId> names;
  std::unordered_map<std::uint32_t, BufferId> bindings;
  std::uint64_t shared_bytes = 0;
  for (BufferId id = 0; id < program.buffers().size(); ++id) {
    const BufferDecl& buffer = program.buffer(id);
    check_buffer(program, id, report);
    if (!names.emplace(buffer.name, id).second) {
      report.buffer(FindingCode::DuplicateBuffer, id,
                    fmt::format("There is another buffer `{}`.", buffer.name),
                    "give each buffer a name of its own.");
    }
    if (buffer.access == Access::Workgroup) {
      shared_bytes += std::uint64_t{buffer.count} * info(buffer.element).bytes;
      if (shared_bytes > kMaxWorkgroupBytes) {
        report.buffer(
            FindingCode::BufferSize, id,
            fmt::format("Workgroup buffers up to `{}` take {} bytes; at most {} are allowed.",
                        buffer.name, shared_bytes, kMaxWorkgroupBytes),
            "use smaller tiles; devices have 16 to 64 KiB for each workgroup.");
      }
    } else if (const auto other = bindings.emplace(buffer.binding, id); !other.second) {
      report.buffer(FindingCode::DuplicateBinding, id,
                    fmt::format("Binding {} of `{}` is taken by `{}`.", buffer.binding, buffer.name,
                                program.buffer(other.first->second).name),
                    "give each buffer a binding of its own, or leave bindings out.");
    }
  }

  std::unordered_set<std::string_view> op_names;
  for (OpId id = 0; id < program.ops().size(); ++id) {
    const std::string_view name = program.name(program.ops()[id].name);
    if (!is_usable_name(name) || find_word(name) != nullptr) {
      report.op(FindingCode::BadName, id,
                fmt::format("`{}` cannot name an operation.", name.substr(0, 60)),
                "choose a name that is neither reserved nor a built-in function.");
    }
    check_types(program, id, report);
    if (!op_names.insert(name).second) {
      report.op(FindingCode::DuplicateBuffer, id,
                fmt::format("There is another operation `{}`.", name),
                "give each operation a name of its own.");
    }
  }
}

}  // namespace felsite::ir
