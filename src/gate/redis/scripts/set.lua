-- set: state and window of the active epoch.
-- KEYS     gate
-- ARGV     epoch, state (open paused over), opensAtMs, closesAtMs, stateNo, channel
-- Returns  DONE or STALE
-- Keeps    a stale number changes nothing (and is DONE); the version goes up only when something changed. What an older version of
--          Stampede has set counts as number 0

local STATES = { open = true, paused = true, over = true }
if #KEYS ~= 1 or #ARGV ~= 6 or not (isCount(ARGV[1]) and STATES[ARGV[2]] and isWhole(ARGV[3]) and isWhole(ARGV[4]) and isCount(ARGV[5]))
  or tonumber(ARGV[3]) >= tonumber(ARGV[4]) then
  return bug('set: wrong arguments')
end
local state, opens, closes, stateNo = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local gate = readGate(KEYS[1])
if not selling(gate, tonumber(ARGV[1])) then return STALE end
local current = gate.wordNo or 0
if stateNo < current then return DONE end
if gate.state ~= state or gate.opens ~= opens or gate.closes ~= closes or stateNo > current then
  redis.call('HSET', KEYS[1], 'state', state, 'opens', text(opens), 'closes', text(closes), 'wordNo', text(stateNo),
    'version', text(gate.version + 1))
  publishStock(ARGV[6], KEYS[1], gate.epoch, gate.version + 1, gate.left)
end
return DONE
