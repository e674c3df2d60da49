-- release: give units back where the book holds this very order, buyer and attempt live.
-- KEYS     gate, buyers, orders (of this epoch)
-- ARGV     epoch, channel, n, then n × (order, buyer, attempt, outcome: closed refused gone)
-- Returns  DONE or STALE
-- Keeps    E8: what is not live under this very id changes nothing, so a repeated release changes nothing

local gateKey, buyersKey, ordersKey = KEYS[1], KEYS[2], KEYS[3]
local HEAD = 3
local count = isCount(ARGV[3]) and tonumber(ARGV[3]) or -1
if #KEYS ~= 3 or not isCount(ARGV[1]) or #ARGV ~= HEAD + 4 * count then return bug('release: wrong arguments') end
local OUTCOMES = { closed = true, refused = true, gone = true }
local buyers = {}
for i = 1, count do
  local at = HEAD + 4 * (i - 1)
  if not (isId(ARGV[at + 1]) and isBuyer(ARGV[at + 2]) and isNumber(ARGV[at + 3]) and OUTCOMES[ARGV[at + 4]]) then
    return bug('release: release ' .. i .. ' is malformed')
  end
  buyers[i] = ARGV[at + 2]
end

local gate = readGate(gateKey)
if not selling(gate, tonumber(ARGV[1])) then return STALE end

local book = readBook(buyersKey, buyers)
local left, held, changed, forgotten, any = gate.left, gate.held, {}, {}, false
for i = 1, count do
  local at = HEAD + 4 * (i - 1)
  local order, buyer, attempt, outcome = ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
  local found, index = existing(book[buyer], attempt)
  if found and found.live and found.attempt == attempt and found.order == order then
    local units = tonumber(found.quantity)
    if outcome == 'refused' then
      table.remove(book[buyer], index)
      forgotten[#forgotten + 1] = order
    else
      found.live = false
    end
    if outcome ~= 'gone' then left = left + units end
    held = held - units
    changed[buyer] = true
    any = true
  end
end

if any then
  redis.call('HSET', gateKey, 'left', text(left), 'held', text(held), 'version', text(gate.version + 1))
  writeBook(buyersKey, book, changed)
  callInSlices('SREM', ordersKey, forgotten, 1)
  publishStock(ARGV[2], gateKey, gate.epoch, gate.version + 1, left)
end
return DONE
