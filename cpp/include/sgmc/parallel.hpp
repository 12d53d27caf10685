// OpenMP is used only here. The number of threads is always an argument; with one thread, this is a
// plain loop. Work items must be independent and write to places of their own, so that the schedule
// cannot change a result.
#pragma once

#include <omp.h>

#include <cstdint>
#include <exception>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace sgmc {

/// Flushes subnormal floats to zero during its lifetime: gamma variates of small shape are often
/// subnormal, and cost a hundred cycles each. It is a setting of the thread, restored afterwards.
class FlushSubnormals {
 public:
#if defined(__SSE2__)
  FlushSubnormals() : saved_(_mm_getcsr()) { _mm_setcsr(saved_ | 0x8040u); }
  ~FlushSubnormals() { _mm_setcsr(saved_); }

 private:
  unsigned saved_;
#elif defined(__aarch64__)
  FlushSubnormals() {
    __asm__ volatile("mrs %0, fpcr" : "=r"(saved_));
    set(saved_ | std::uint64_t{1} << 24);
  }
  ~FlushSubnormals() { set(saved_); }

 private:
  static void set(std::uint64_t control) {
    __asm__ volatile("msr fpcr, %0" : : "r"(control) : "memory");
  }
  std::uint64_t saved_;
#endif
};

/// Number of threads that this process can have, of `wanted` and at least 1, including the calling
/// one. It is found once, by starting threads, because the OpenMP library ends the process when it
/// cannot start one. It is 1 in a process forked from one that had a team, because the OpenMP
/// library would wait forever for the team's threads, which the child lacks.
int startable_threads(int wanted);

/// Notes that a team of threads is about to be used. Throws std::bad_alloc unless there is memory
/// for it, because without memory the OpenMP library ends the process, and so does the C library
/// when a thread starts.
void begin_team(int threads);

/// Calls fn(item, thread) for item = 0 .. n - 1, on fewer threads than requested if the system
/// refuses more. The first exception is rethrown after the join.
template <class F>
void parallel_for(std::int64_t n, int threads, F&& fn) {
  if (n > 1 && threads > 1) threads = startable_threads(threads);
  if (threads <= 1 || n <= 1) {
    FlushSubnormals const flush;
    for (std::int64_t i = 0; i < n; ++i) fn(i, 0);
    return;
  }
  begin_team(threads);
  std::exception_ptr error = nullptr;
#pragma omp parallel num_threads(threads) default(none) shared(n, fn, error)
  {
    FlushSubnormals const flush;
    int const thread = omp_get_thread_num();
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t i = 0; i < n; ++i) {
      try {
        fn(i, thread);
      } catch (...) {
#pragma omp critical(sgmc_parallel_for_error)
        if (!error) error = std::current_exception();
      }
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace sgmc
