// SPDX-License-Identifier: BSD-3-Clause
// Virtual drivers handle their peers' events in the EAL's interrupt thread, without locks against stop, start and close
// from elsewhere: closing a port in the moment in which its peer hangs up frees the same memory twice. So these calls
// are made in that thread as well, one after the other with the events.
#pragma once

#include <functional>

namespace txnic::dataplane {

// Runs `body` in the interrupt thread and returns when it is done. Called there, or if that thread takes no work, runs
// it at once.
void run_in_interrupt_thread(const std::function<void()>& body);

}  // namespace txnic::dataplane
