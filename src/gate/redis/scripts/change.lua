-- change: apply one numbered stock change, or answer what it took when it came before.
-- KEYS     gate
-- ARGV     epoch, number, delta, remembered (how many of the latest numbers keep what they took), channel
-- Returns  DONE, taken; or GAP, changeNo; or PAST, changeNo; or STALE
-- Keeps    left ≥ 0; every number once, in order

if #KEYS ~= 1 or #ARGV ~= 5 or not (isCount(ARGV[1]) and isNumber(ARGV[2]) and isWhole(ARGV[3]) and isNumber(ARGV[4])) then
  return bug('change: wrong arguments')
end
local number, delta, remembered = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local gate = readGate(KEYS[1])
if not selling(gate, tonumber(ARGV[1])) then return { STALE } end
if math.abs(gate.left + delta) > SAFE_MAX then return bug('change: by ' .. ARGV[3]) end

if number > gate.changeNo + 1 then return { GAP, gate.changeNo } end
local field = 'taken:' .. text(number % remembered)
if number <= gate.changeNo then
  if number < gate.changesFrom or number <= gate.changeNo - remembered then return { PAST, gate.changeNo } end
  return { DONE, tonumber(redis.call('HGET', KEYS[1], field)) }
end

local taken = delta
if delta < 0 then taken = math.max(delta, 0 - gate.left) end
redis.call('HSET', KEYS[1], field, text(taken), 'changeNo', text(number), 'left', text(gate.left + taken),
  'version', text(gate.version + 1))
publishStock(ARGV[5], KEYS[1], gate.epoch, gate.version + 1, gate.left + taken)
return { DONE, taken }
