// SPDX-License-Identifier: BSD-3-Clause
// What travels over the host link, between the front (placement NIC) and the back: frames of many entries. All integers
// are little-endian and entries are padded to 8 bytes; everything is read by memcpy after its length is checked.
// README.md tells who says what when.
//
// A frame is the payload of one Ethernet frame. Every worker's front has a link of its own to its back.
#pragma once

#include <array>

#include "txn/limits.h"
#include "txn/types.h"

namespace txnic::link {

inline constexpr uint32_t kMagic = 0x4b4c5854;  // "TXLK"
inline constexpr uint8_t kFormatVersion = 1;

enum class Sender : uint8_t { kFront = 1, kBack = 2 };

// Magic and version stay where they are in every version to come, so that another version is named, not guessed.
struct FrameHeader {
  uint32_t magic;     // kMagic
  uint8_t version;    // kFormatVersion
  uint8_t sender;     // Sender
  uint16_t worker;    // whose link it is
  uint64_t epoch;     // of the back's life and the front that it serves (COMMIT 19); 0 in a front's HELLO
  uint32_t sequence;  // of the sender's frames, from 1; compared modulo 2^32
  uint32_t received;  // the newest sequence that came from the other end: everything older has come, or never will
  uint32_t limit;     // credits: the other end may send frames up to this sequence
  uint16_t length;    // of the frame, with this header; a multiple of 8
  uint16_t entries;
};
static_assert(sizeof(FrameHeader) == 32);

enum class EntryType : uint8_t {
  // front to back
  kHello = 1,      // HelloBody: who I am. Repeated until it is answered
  kAppend = 2,     // PositionBody, then a piece of the stream of records. Empty: how far are you?
  kFetch = 3,      // FetchBody, then the key
  kMirrorAsk = 4,  // PositionBody: what was kept, from this position of it on
  kFillAsk = 5,    // FillBody: hashes of present keys, from this cursor on
  kLeaseAsk = 6,   // LeaseBody
  kRelease = 7,    // PositionBody: I serve no more; that was the end of my records
  // back to front
  kWelcome = 16,   // WelcomeBody: the answer to HELLO
  kRefused = 17,   // RefusedBody
  kDurable = 18,   // DurableBody
  kFetched = 19,   // FetchedBody, then the value
  kMirror = 20,    // PositionBody, then a piece of the records of what was kept
  kFill = 21,      // FillBody, then hashes
  kLease = 22,     // LeaseBody
  kReleased = 23,  // PositionBody
};

// Every entry starts with this.
struct EntryHeader {
  uint16_t length;  // of the entry, this header included, without the padding
  uint8_t type;     // EntryType
  uint8_t flags;    // see the types
  uint32_t number;  // kFetch, kFetched, kFillAsk, kFill, kLeaseAsk, kLease: the question's (low half). Else 0
};
static_assert(sizeof(EntryHeader) == 8);

inline constexpr uint32_t kNameBytes = 32;
using Name = std::array<char, kNameBytes>;  // padded with zeros

struct HelloBody {
  uint64_t instance;            // of this life of the front: random, not 0
  uint64_t configuration_hash;  // of what both have to agree about
  Name build;                   // version and commit
  uint32_t frame_bytes;         // frames that the front can take
  uint32_t reserved;
};
static_assert(sizeof(HelloBody) == 56);

struct WelcomeBody {
  uint64_t instance;     // whose hello this answers; the header has the epoch
  uint32_t incarnation;  // under which the front serves
  uint32_t frame_bytes;  // that both can take: no frame is larger
  uint64_t lease_ns;     // how long a lease will be
};
static_assert(sizeof(WelcomeBody) == 24);

enum class Refusal : uint8_t {
  kNone = 0,
  kVersion = 1,        // another link format
  kBuild = 2,          // RefusedBody::build names the back's
  kConfiguration = 3,  // another configuration: RefusedBody::configuration_hash
  kFrameBytes = 4,     // the smaller frame of both ends has no room for the largest value
  kOccupied = 5,       // another front serves; its lease may last for RefusedBody::wait_ns. Say hello again
  kNotReady = 6,       // the back is starting, or takes its shards over. Say hello again
  kEpoch = 7,          // a frame of RefusedBody::epoch: it is over, this front serves no more
  kMalformed = 8,      // a frame or record that makes no sense: one of the two programs has a fault
};
inline constexpr uint32_t kRefusalCount = 9;
const char* name(Refusal refusal);
// To say hello again may help.
inline constexpr bool is_passing(Refusal refusal) {
  return refusal == Refusal::kOccupied || refusal == Refusal::kNotReady;
}

struct RefusedBody {
  uint64_t instance;  // whose hello was refused, or 0
  uint64_t epoch;     // of the frame that was refused, or 0
  uint64_t wait_ns;
  uint64_t configuration_hash;  // the back's
  Name build;                   // the back's
  uint8_t refusal;              // Refusal
  std::array<uint8_t, 7> reserved;
};
static_assert(sizeof(RefusedBody) == 72);

struct PositionBody {
  uint64_t position;
};
// Flags of kMirror.
inline constexpr uint8_t kLastPiece = 1;    // nothing follows
inline constexpr uint8_t kEndOfAnswer = 2;  // ask for more

// The key follows; the question's number is the entry header's.
struct FetchBody {
  uint16_t table;
  uint16_t local_shard;
  uint8_t key_length;
  std::array<uint8_t, 3> reserved;
};
static_assert(sizeof(FetchBody) == 8);

struct FetchedBody {
  uint64_t version;  // of the record; of an absent key the version of its bucket
};
inline constexpr uint8_t kPresent = 1;  // flag of kFetched: a value follows, of what is left of the entry

// Positions count the bytes of the records that this front has appended in this epoch.
struct DurableBody {
  uint64_t taken;    // the back has them: they will not be sent again
  uint64_t durable;  // and they survive a crash of the host. Equal to `taken` where nothing is logged
};
inline constexpr uint8_t kGap = 1;        // flag of kDurable: a frame before the last APPEND is missing
inline constexpr uint8_t kStoreFull = 2;  // flag: the store has room for what is on its way and prepared, no more

struct FillBody {
  uint64_t cursor;  // asked for
  uint64_t next;    // kFill: the next question; kFillEnd: the shard is over
  uint16_t local_shard;
  uint16_t part;   // kFill: of the answer, from 0
  uint16_t parts;  // the answer is complete when all of them have come
  uint16_t reserved;
};
static_assert(sizeof(FillBody) == 24);
inline constexpr uint64_t kFillEnd = ~0ull;

// COMMIT 21: the front counts `duration_ns` from when it sent the question, the back from when it received it.
struct LeaseBody {
  uint64_t duration_ns;  // kLease: granted; 0 in the question
};

// ---- frames that were received

// An entry, taken apart: its body lies in the frame.
struct Entry {
  EntryType type = EntryType::kHello;
  uint8_t flags = 0;
  uint32_t number = 0;
  Bytes body;  // behind the entry header
};

// Whether it is a whole frame of the link; of one of another version only magic and version say something.
enum class FrameCheck : uint8_t { kGood, kShort, kForeign, kVersion, kLength, kSender };
FrameCheck read_frame(Bytes frame, FrameHeader* header);

// Entries of a frame that read_frame() has found good.
class EntryReader {
 public:
  explicit EntryReader(Bytes frame, const FrameHeader& header)
      : rest_(frame.subspan(sizeof(FrameHeader), header.length - sizeof(FrameHeader))), left_(header.entries) {}
  // False at the end, and at the first thing that is no entry: then is_malformed(). Bodies are as long as their type
  // needs at least.
  bool next(Entry* entry);
  bool is_malformed() const { return malformed_; }

 private:
  Bytes rest_;
  uint32_t left_;
  bool malformed_ = false;
};

// Length of a type's fixed body, or 0 for a type that is not known.
uint32_t body_bytes(EntryType type);

inline constexpr uint32_t padded(uint32_t bytes) { return (bytes + 7) & ~7u; }
inline constexpr uint32_t entry_bytes(uint32_t body_bytes) {
  return padded(static_cast<uint32_t>(sizeof(EntryHeader)) + body_bytes);
}

// The smallest frame that holds the largest answer.
static_assert(sizeof(FrameHeader) + entry_bytes(sizeof(FetchedBody) + limits::kValueBytesMax) <=
              limits::kLinkFrameBytesMin);
static_assert(limits::kLinkFrameBytesMax < 65536, "u16 lengths");

// ---- frames to be sent

// Lays entries one behind the other into one frame's memory. Padding is zero.
class FrameBuilder {
 public:
  void begin(MutableBytes room) { room_ = room, used_ = sizeof(FrameHeader), entries_ = 0; }
  bool is_open() const { return !room_.empty(); }
  uint32_t entries() const { return entries_; }
  uint32_t left() const { return static_cast<uint32_t>(room_.size()) - used_; }
  // An entry with a body of `body_bytes`, laid by the caller at what this answers; null if it does not fit.
  std::byte* add(EntryType type, uint8_t flags, uint32_t number, uint32_t body_bytes);
  // Writes the header; `header.length` and `entries` are filled in here. Answers the frame's length.
  uint32_t finish(FrameHeader header);

 private:
  MutableBytes room_;
  uint32_t used_ = 0;
  uint32_t entries_ = 0;
};

}  // namespace txnic::link
