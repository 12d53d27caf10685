// Limits beyond which kernels report a value as not finite.
#pragma once

#include <cstdint>

namespace sgmc {

/// Maximum number of tokens of a document times kept sweeps: counts of a document are float32,
/// which represents every integer only up to here.
inline constexpr std::int64_t kMaxCollected = std::int64_t{1} << 24;
/// Maximum number of sweeps of one call, and of tokens (for deep documents, entries) times sweeps,
/// so that a call ends before its caller regards it as hung.
inline constexpr std::int32_t kMaxSweeps = 1'000'000;
inline constexpr std::int64_t kMaxDraws = std::int64_t{1} << 36;
/// Maximum number of attempts at a random variate. Each is accepted with probability 0.6 or more,
/// so that further attempts are never needed: a variate still rejected then has NaN parameters.
inline constexpr std::uint32_t kAttempts = 64;
/// The largest float32 number.
inline constexpr float kMost = 0x1.fffffep127f;

}  // namespace sgmc
