// A program that was compiled ahead for one backend.
#pragma once

#include "dispatch/facade/backend_core.h"

namespace felsite::dispatch {

// `owner` holds the kernels that were compiled for it; null where kernels have no owners.
// `one_by_one`: the host takes part in each dispatch of a batch, so they do not overlap.
std::unique_ptr<CompiledPipeline> make_pipeline(Backend& backend, BackendLink<BackendCore> link,
                                                const SharedDevice& open,
                                                std::unique_ptr<KernelOwner> owner,
                                                const ir::Program& program, DispatchConfig config,
                                                bool one_by_one);

}  // namespace felsite::dispatch
