// What names the recording of a resident call.
#pragma once

#include <string_view>

#include "felsite/resident.h"
#include "ir/fingerprint.h"

namespace felsite::dispatch {

// Equal for calls that can share a recording: it covers all but the bytes of the uploads.
ir::Fingerprint key_of(const ResidentSubmission& submission, std::string_view label, bool measured);
// `grid`: where the host has read it.
ir::Fingerprint key_of(const ResidentStep& step, const DispatchConfig& config,
                       const std::optional<Extent3>& grid, bool measured);

}  // namespace felsite::dispatch
