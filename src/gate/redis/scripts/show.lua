-- show: as find, for an answer to a buyer (E11): it writes, so that a WAIT behind it covers what was found.
-- KEYS     gate
-- ARGV     buyer
-- Returns  OK, the buyer's packed attempts (empty: none); or STALE
-- Keeps    E1, E8: nothing is read from a book that may not sell

if #KEYS ~= 1 or #ARGV ~= 1 or not isBuyer(ARGV[1]) then return bug('show: wrong arguments') end
local gate = readGate(KEYS[1])
if not selling(gate) then return { STALE } end
local packed = redis.call('HGET', keyOf(KEYS[1], gate.epoch, 'buyers'), ARGV[1])
-- The value does not matter: the write is later than what was found.
if packed then redis.call('HSET', KEYS[1], 'shown', '1') end
return { OK, packed or '' }
