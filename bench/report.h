// What was measured, as text, as JSON and as a page.
#pragma once

#include <string>
#include <vector>

#include "harness.h"

namespace felsite::bench {

// The device that the rows open, and what else the figures depend on.
std::string device_line();

std::string header();
std::string to_line(const Measurement& row);        // of the table below the header
std::string to_check_line(const Measurement& row);  // of a check, which has no figures
// How many rows are over their bounds, and which, and how many prove nothing.
std::string summary(const std::vector<Measurement>& rows);

std::string to_json(const std::string& device, const std::vector<Measurement>& rows);
std::string to_html(const std::string& device, const std::vector<Measurement>& rows);
std::string to_markdown(const std::string& device, const std::vector<Measurement>& rows);

// Parts of them: 4.2 µs or 8.0 MiB; ok, OVER, not proven.
std::string cost_text(Unit unit, double cost);
std::string verdict(const Measurement& row);

}  // namespace felsite::bench
