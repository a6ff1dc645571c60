// The way from what a backend made (pipelines, recordings, dispatches under way) back to the
// backend, which may be shut down or destroyed by then.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "base/guarded.h"
#include "dispatch/contract/call_gate.h"

namespace felsite::dispatch {

template <class Owner>
class BackendLink {
 public:
  // `gate`: the owner closes it before it goes. `device`: for the errors after that.
  BackendLink(Owner& owner, std::shared_ptr<CallGate> gate, std::string device)
      : owner_(&owner), gate_(std::move(gate)), device_(std::move(device)) {}

  // Calls `work` with the owner, which stays for as long as that takes. DispatchFailed once the
  // owner has closed its gate; it is then not touched.
  template <class Work>
  auto call(Work work) const -> decltype(work(std::declval<Owner&>())) {
    return base::guarded([&]() -> decltype(work(std::declval<Owner&>())) {
      auto ticket = gate_->enter();
      if (ticket) return work(*owner_);
      base::set_if_possible(ticket.error().context.device, device_);
      return std::unexpected(std::move(ticket.error()));
    });
  }

  // Raised once the owner closes, for work within a call that would keep it from that.
  const std::atomic<bool>& closing() const { return gate_->closing(); }

 private:
  Owner* owner_;
  std::shared_ptr<CallGate> gate_;
  std::string device_;
};

}  // namespace felsite::dispatch
