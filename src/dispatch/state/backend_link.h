// Leads from what a backend made (pipelines, recordings, pending dispatches) back to the backend,
// which may have been shut down or destroyed.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "base/guarded.h"
#include "dispatch/state/call_gate.h"

namespace felsite::dispatch {

template <class Owner>
class BackendLink {
 public:
  // The owner closes `gate` before it is destroyed. `device` is named in errors after that.
  BackendLink(Owner& owner, std::shared_ptr<CallGate> gate, std::string device)
      : owner_(&owner), gate_(std::move(gate)), device_(std::move(device)) {}

  // Calls `work` with the owner, which stays alive meanwhile. DispatchFailed, without touching the
  // owner, once it has closed its gate.
  template <class Work>
  auto call(Work work) const -> decltype(work(std::declval<Owner&>())) {
    return base::guarded([&]() -> decltype(work(std::declval<Owner&>())) {
      auto ticket = gate_->enter();
      if (ticket) return work(*owner_);
      base::set_if_possible(ticket.error().context.device, device_);
      return std::unexpected(std::move(ticket.error()));
    });
  }

  // Set when the owner begins to close: long work inside a call polls it and ends.
  const std::atomic<bool>& closing() const { return gate_->closing(); }

 private:
  Owner* owner_;
  std::shared_ptr<CallGate> gate_;
  std::string device_;
};

}  // namespace felsite::dispatch
