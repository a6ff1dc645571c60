// From a resident submission to a sequence of the device.
#pragma once

#include "felsite/resident.h"
#include "vk/record/engine.h"

namespace felsite::vk {

// Everything that can be wrong is said here, before anything runs. The error of a step carries its
// position, the repeated ones counted after the prefix.
Result<Sequence> make_sequence(Engine& engine, const ResidentSubmission& submission,
                               const SubmissionConfig& config);

// Equal for submissions that can share a recording: all but the bytes of the uploads.
ir::Fingerprint key_of(const ResidentSubmission& submission, std::string_view label, bool measured);

// One program with grid barriers or iterations, on resident buffers, by itself.
Result<Sequence> make_grid_sequence(Engine& engine, const ResidentStep& step,
                                    const DispatchConfig& config);
ir::Fingerprint key_of(const ResidentStep& step, const DispatchConfig& config, bool measured);

// The buffers and ranges that are meant.
Result<std::vector<UploadRange>> resolve_uploads(Engine& engine,
                                                 std::span<const ResidentUpload> uploads);
Result<std::vector<BufferSlice>> resolve_reads(Engine& engine,
                                               std::span<const ResidentRange> ranges);

}  // namespace felsite::vk
