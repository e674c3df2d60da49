-- find: every attempt of one buyer, as the active epoch has it.
-- KEYS     gate
-- ARGV     buyer, toShow (1: for an answer to a buyer; it writes, so that a WAIT behind it covers what was found, E11)
-- Returns  OK, the buyer's packed attempts (empty: none); or STALE
-- Keeps    E1, E8: nothing is read from a book that may not sell

if #KEYS ~= 1 or #ARGV ~= 2 or not isBuyer(ARGV[1]) then return bug('find: wrong arguments') end
local gate = readGate(KEYS[1])
if not selling(gate) then return { STALE } end
local packed = redis.call('HGET', keyOf(KEYS[1], gate.epoch, 'buyers'), ARGV[1])
-- The value does not matter: the write is later than what was found.
if packed and ARGV[2] == '1' then redis.call('HSET', KEYS[1], 'shown', '1') end
return { OK, packed or '' }
