// Limits after which kernels report a value that is not finite.
#pragma once

#include <cstdint>

namespace sgmc {

/// Tokens of a document times kept sweeps: a document is counted in float32, which holds every
/// integer up to here and no other ones beyond.
inline constexpr std::int64_t kMaxCollected = std::int64_t{1} << 24;
/// Sweeps of one call, and tokens (of deep documents entries) times sweeps: a call ends before its
/// caller takes it for dead.
inline constexpr std::int32_t kMaxSweeps = 1'000'000;
inline constexpr std::int64_t kMaxDraws = std::int64_t{1} << 36;
/// Attempts at one random variate. Each attempt is accepted with probability .6 or more, so that
/// more attempts are never needed: a variate that is still refused then has parameters that are
/// NaN.
inline constexpr std::uint32_t kAttempts = 64;
/// The largest number of float32.
inline constexpr float kMost = 0x1.fffffep127f;

}  // namespace sgmc
