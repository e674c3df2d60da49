-- hold-load: counts holds of a sale that the ledger has, whatever the limits.
-- KEYS     used, holds, ends, read: as in hold.lua
-- ARGV     now (0: the server's clock), last (1: with these all are there), then of each id, units, for how many ms, subjects joined by |
-- Returns  how many were not counted before
-- Keeps    as hold.lua; one that is counted already stays as it is. All keys end a day after the last hold

local given, last = whole(ARGV[1], 0, 1e14), whole(ARGV[2], 0, 1)
if #KEYS ~= 4 or not given or not last or (#ARGV - 2) % 4 ~= 0 or #ARGV > 4002 then return bug('hold-load: wrong arguments') end
local now, holds = given ~= 0 and given or serverMs(), {}
for at = 3, #ARGV, 4 do
  local id, units, forMs, subjects = holdName(ARGV[at]), whole(ARGV[at + 1], 1, 1e9), whole(ARGV[at + 2], 1, 1e12), {}
  for subject in ARGV[at + 3]:gmatch('[^|]+') do
    if not holdName(subject) then return bug('hold-load: wrong arguments') end
    subjects[#subjects + 1] = subject
  end
  if not id or not units or not forMs then return bug('hold-load: wrong arguments') end
  holds[#holds + 1] = { id = id, units = units, forMs = forMs, subjects = subjects }
end
local added = 0
for _, hold in ipairs(holds) do
  if redis.call('HEXISTS', KEYS[2], hold.id) == 0 then
    addHold(KEYS, hold.id, hold.units, now, hold.forMs, hold.subjects)
    added = added + 1
  end
end
if last == 1 then redis.call('SET', KEYS[4], '1', 'PX', text(HOLD_REST_MS)) end
return added
