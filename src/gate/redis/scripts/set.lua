-- set: the operator's word and the window of the active epoch.
-- KEYS     gate
-- ARGV     epoch, state (open paused over), opensAtMs, closesAtMs
-- Returns  DONE or STALE
-- Keeps    the version goes up only when something changed

local STATES = { open = true, paused = true, over = true }
if #KEYS ~= 1 or #ARGV ~= 4 or not (isCount(ARGV[1]) and STATES[ARGV[2]] and isWhole(ARGV[3]) and isWhole(ARGV[4]))
  or tonumber(ARGV[3]) >= tonumber(ARGV[4]) then
  return bug('set: wrong arguments')
end
local state, opens, closes = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local gate = readGate(KEYS[1])
if not selling(gate, tonumber(ARGV[1])) then return STALE end
if gate.state ~= state or gate.opens ~= opens or gate.closes ~= closes then
  redis.call('HSET', KEYS[1], 'state', state, 'opens', text(opens), 'closes', text(closes),
    'version', text(gate.version + 1))
end
return DONE
