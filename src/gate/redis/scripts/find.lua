-- find: every attempt of one buyer, as the active epoch has it.
-- KEYS     gate
-- ARGV     buyer
-- Returns  OK, the buyer's packed attempts (empty: none); or STALE
-- Keeps    E1, E8: nothing is read from a book that may not sell

if #KEYS ~= 1 or #ARGV ~= 1 or not isBuyer(ARGV[1]) then return bug('find: wrong arguments') end
local gate = readGate(KEYS[1])
if not selling(gate) then return { STALE } end
return { OK, redis.call('HGET', keyOf(KEYS[1], gate.epoch, 'buyers'), ARGV[1]) or '' }
