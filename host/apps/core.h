// SPDX-License-Identifier: BSD-3-Clause
// What a node's process is beside packets: the engine with its fronts, or, with placement NIC, one side of it. Made
// once, started before the workers, closed after them.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "dataplane/dataplane.h"
#include "dataplane/modes/mode.h"

namespace txnic::apps {

// Gets lines for people.
using Say = std::function<void(const std::string&)>;

struct StartError {
  std::string text;  // cause and next step; empty: started
  int exit_code = 0;
};

class Core {
 public:
  virtual ~Core() = default;

  // Bytes of dataplane::Region that start() will take, for the preflight.
  virtual uint64_t region_bytes() const = 0;
  // Allocates, recovers, opens the logs; then does what the operator asked for.
  virtual StartError start(TimeNs now, const Say& say) = 0;
  // After start(): what worker `worker` does; null: *error says why. `plane` outlives the mode, and so does this.
  virtual std::unique_ptr<dataplane::Mode> make_mode(uint32_t worker, dataplane::Dataplane* plane,
                                                     std::string* error) = 0;
  virtual uint32_t incarnation() const = 0;

  // While the workers run, from the main thread. A reason to stop now, answering nothing more (DESIGN 4.4, trap 11);
  // or empty.
  virtual std::string failure() const = 0;
  // What an operator must hear at once and has not been told yet; else empty.
  virtual std::string alarm() = 0;

  // After the workers have stopped. False: the log did not close cleanly in a bounded time.
  virtual bool close() = 0;

  virtual std::string text(TimeNs now) const = 0;
  // Members of the node's JSON object, with a comma in front.
  virtual std::string json(TimeNs now) const = 0;
};

}  // namespace txnic::apps
