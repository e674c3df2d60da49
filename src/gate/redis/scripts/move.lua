-- move: one half of a move of units between two shards of an item, or what it did when it came before.
-- KEYS     gate (of the shard)
-- ARGV     epoch, number, delta (less than 0: taken from here), channel
-- Returns  DONE, taken; or PAST, moveNo; or STALE
-- Keeps    left ≥ 0; a number once, and none below the highest. What is wanted here stays noted: the buyers who waited come back for these
--          units, which must not be moved on before

if #KEYS ~= 1 or #ARGV ~= 4 or not (isCount(ARGV[1]) and isNumber(ARGV[2]) and isWhole(ARGV[3])) then
  return bug('move: wrong arguments')
end
local number, delta = tonumber(ARGV[2]), tonumber(ARGV[3])
local gate = readGate(KEYS[1])
if not selling(gate, tonumber(ARGV[1])) then return { STALE } end
if math.abs(gate.left + delta) > SAFE_MAX then return bug('move: of ' .. ARGV[3]) end

local last = redis.call('HMGET', KEYS[1], 'moveNo', 'moved')
local moveNo = tonumber(last[1] or 0)
if number < moveNo then return { PAST, moveNo } end
if number == moveNo then return { DONE, tonumber(last[2]) } end

local taken = delta
if delta < 0 then taken = math.max(delta, 0 - gate.left) end
redis.call('HSET', KEYS[1], 'moveNo', text(number), 'moved', text(taken), 'left', text(gate.left + taken),
  'version', text(gate.version + 1))
publishStock(ARGV[4], KEYS[1], gate.epoch, gate.version + 1, gate.left + taken)
return { DONE, taken }
