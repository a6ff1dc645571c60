// What is inside a Backend: its device, the gate that all calls pass, and recovery.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

#include "base/errors.h"
#include "base/guarded.h"
#include "base/try.h"
#include "dispatch/state/backend_link.h"
#include "dispatch/state/open_device.h"
#include "dispatch/state/static_uploads.h"
#include "dispatch/telemetry/trace.h"
#include "felsite/backend.h"

namespace felsite::dispatch {

using SharedDevice = std::shared_ptr<OpenDevice>;

class BackendCore {
 public:
  // Opens the device.
  static Result<std::unique_ptr<BackendCore>> make(BackendSettings settings);
  ~BackendCore();

  // The core of a backend, for parts that reach below the contract.
  static BackendCore& of(const Backend& backend) { return *backend.core_; }

  const std::string& id() const { return settings_.id; }
  DeviceProfile profile() const;
  std::string feature_key() const;

  // The current device, null after the shutdown.
  SharedDevice current() const;
  // DeviceLost if the device is lost, DispatchFailed after the shutdown.
  Result<SharedDevice> device() const;

  // Every public call goes through it: nothing runs after a shutdown, nothing throws, and every
  // error names the device.
  template <class Work>
  auto call(std::string_view name, Work work) const
      -> decltype(work(std::declval<const SharedDevice&>())) {
    using Outcome = decltype(work(std::declval<const SharedDevice&>()));
    return base::guarded([&]() -> Outcome {
      const HostSlice slice(name);
      auto ticket = gate_->enter();
      if (!ticket) return std::unexpected(on_last_device(std::move(ticket.error())));
      FELSITE_TRY(const auto open, device());
      Outcome result = base::guarded([&] { return work(open); });
      if (!result) return std::unexpected(open->noted(std::move(result.error())));
      return result;
    });
  }

  // For objects that the backend makes and that call it later.
  BackendLink<BackendCore> link();
  // For work on a thread of its own, which keeps the backend from closing.
  Result<CallGate::Ticket> enter() { return gate_->enter(); }

  // Called once, by the backend that the core is inside of.
  void attach(Backend& backend);
  StaticUploadCache& static_uploads() { return *static_uploads_; }
  Result<void> flush();
  Result<void> shutdown();
  bool is_lost() const;
  Result<void> recover();
  void report(MetricSnapshot& figures) const;

 private:
  explicit BackendCore(BackendSettings settings) : settings_(std::move(settings)) {}
  Error on_last_device(Error error) const;
  void use(SharedDevice& device);

  const BackendSettings settings_;
  // Shared with all objects that the backend made, which may outlive it.
  const std::shared_ptr<CallGate> gate_ = std::make_shared<CallGate>();
  mutable std::mutex mutex_;  // guards the next three
  SharedDevice device_;
  DeviceProfile profile_;
  std::string feature_key_;
  std::mutex recovery_mutex_;
  std::atomic<std::uint64_t> recoveries_ = 0;
  std::optional<StaticUploadCache> static_uploads_;
};

}  // namespace felsite::dispatch
