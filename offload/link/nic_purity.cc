// SPDX-License-Identifier: BSD-3-Clause
// The front on a NIC over its back, compiled only so that a test can look at what it imports (tests/tidy).
#include "offload/front.h"
#include "offload/link/nic_back.h"

namespace txnic::offload {

static_assert(MissingBack<NicBack>);
template class NicBackOf<link::FrontEnd>;
template class Front<NicBack>;

}  // namespace txnic::offload
