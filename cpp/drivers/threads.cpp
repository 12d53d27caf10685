#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "sgmc/parallel.hpp"

namespace sgmc {
namespace {

// Numbers of threads that the system has granted or refused to this process, so that it is asked
// only once. These are not settings, and results do not depend on them.
std::atomic<int> granted{1}, refused{std::numeric_limits<int>::max()};
std::atomic<bool> had_team{false};

/// In a child process, the parent's threads are missing, which the OpenMP library does not know.
void after_fork() {
  if (had_team) refused = 2;
}

void reserve_for_team(int threads) {
  auto const bytes = (std::size_t{64} << 10) + (static_cast<std::size_t>(threads) << 10);
  // A volatile pointer, because the compiler would otherwise remove both lines.
  void* volatile spare = ::operator new(bytes);
  ::operator delete(spare);
}

/// As many threads as can be started at once, up to `wanted`, including this one.
int start_and_join(int wanted) {
  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false;
  std::vector<std::thread> started;
  try {
    reserve_for_team(wanted);
    started.reserve(static_cast<std::size_t>(wanted));
    while (static_cast<int>(started.size()) + 1 < wanted)
      started.emplace_back([&] {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return ended; });
      });
  } catch (std::system_error const&) {  // a limit on processes, or no memory for another stack
  } catch (std::bad_alloc const&) {
  }
  {
    std::lock_guard const lock(mutex);
    ended = true;
  }
  changed.notify_all();
  for (std::thread& thread : started) thread.join();
  return static_cast<int>(started.size()) + 1;
}

/// Whether memory granted earlier may be refused now, because the process's other memory counts
/// too.
bool address_space_is_limited() {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

}  // namespace

int startable_threads(int wanted) {
  wanted = std::min(wanted, refused.load() - 1);
  if (wanted <= granted.load() && !address_space_is_limited()) return wanted;
  int const can = start_and_join(wanted);
  if (can < wanted) refused = can + 1;
  if (can > granted.load()) granted = can;
  return can;
}

void begin_team(int threads) {
  static int const registered = pthread_atfork(nullptr, nullptr, after_fork);
  static_cast<void>(registered);
  had_team = true;
  reserve_for_team(threads);
}

}  // namespace sgmc
