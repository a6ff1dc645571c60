// From a resident submission to a sequence of the device.
#pragma once

#include "felsite/resident.h"
#include "vk/record/engine.h"

namespace felsite::vk {

// All errors of the caller are found here, before anything runs. The error of a step carries its
// position; the repeated steps are numbered after the prefix.
Result<Sequence> make_sequence(Engine& engine, const ResidentSubmission& submission,
                               const SubmissionConfig& config);

// Equal for submissions that can share a recording: it covers all but the bytes of the uploads.
ir::Fingerprint key_of(const ResidentSubmission& submission, std::string_view label, bool measured);

// The sequence of one program with grid barriers or iterations, on resident buffers.
Result<Sequence> make_grid_sequence(Engine& engine, const ResidentStep& step,
                                    const DispatchConfig& config);
ir::Fingerprint key_of(const ResidentStep& step, const DispatchConfig& config, bool measured);

// From handles to buffers, with the ranges checked.
Result<std::vector<UploadRange>> resolve_uploads(Engine& engine,
                                                 std::span<const ResidentUpload> uploads);
Result<std::vector<BufferSlice>> resolve_reads(Engine& engine,
                                               std::span<const ResidentRange> ranges);

}  // namespace felsite::vk
