-- load: a page of the snapshot for an epoch that is not active yet, into keys of its own.
-- KEYS     gate, buyers, orders (of this epoch)
-- ARGV     epoch, begun (its keeper has fenced or loaded it here before), n, then n × (order, buyer, attempt, quantity, live, reservedAtMs)
-- Returns  DONE or STALE
-- Keeps    all or nothing: a page that contradicts itself or an earlier one leaves no trace; pages are one server's (E1) and one epoch's (E9)

local gateKey, buyersKey, ordersKey = KEYS[1], KEYS[2], KEYS[3]
local HEAD = 3
local count = isCount(ARGV[3]) and tonumber(ARGV[3]) or -1
if #KEYS ~= 3 or not isNumber(ARGV[1]) or #ARGV ~= HEAD + 6 * count then return bug('load: wrong arguments') end
local epoch, begun = tonumber(ARGV[1]), ARGV[2] == '1'
local orders, buyers = {}, {}
for i = 1, count do
  local at = HEAD + 6 * (i - 1)
  if not (isId(ARGV[at + 1]) and isBuyer(ARGV[at + 2]) and isNumber(ARGV[at + 3]) and isNumber(ARGV[at + 4])
    and (ARGV[at + 5] == '1' or ARGV[at + 5] == '0') and isWhole(ARGV[at + 6])) then
    return bug('load: holding ' .. i .. ' is malformed')
  end
  orders[i], buyers[i] = ARGV[at + 1], ARGV[at + 2]
end

local gate = readGate(gateKey)
local server = identity()
if epoch < gate.seen or gate.epoch == epoch or not goesOn(gate, epoch, begun, server) then return STALE end

local book, known = {}, {}
if gate.loading == epoch then
  book = readBook(buyersKey, buyers)
  local members = callInSlices('SMISMEMBER', ordersKey, orders, 1)
  for i, order in ipairs(orders) do known[order] = members[i] == 1 end
end

local held = gate.loading == epoch and gate.loadedHeld or 0
local changed, newOrders = {}, {}
for i = 1, count do
  local at = HEAD + 6 * (i - 1)
  local order, buyer, attempt, quantity = ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
  local live = ARGV[at + 5] == '1'
  book[buyer] = book[buyer] or {}
  local found = existing(book[buyer], attempt)
  if found and found.attempt == attempt then
    if found.order ~= order or found.quantity ~= quantity or found.live ~= live or found.at ~= ARGV[at + 6] then
      return bug('load: one attempt as order ' .. found.order .. ' and as ' .. order)
    end
  else
    if found and live then return bug('load: orders ' .. found.order .. ' and ' .. order .. ' of one buyer are both live') end
    if known[order] then return bug('load: order ' .. order .. ' for two attempts') end
    known[order] = true
    changed[buyer] = true
    newOrders[#newOrders + 1] = order
    table.insert(book[buyer], { attempt = attempt, order = order, quantity = quantity, live = live, at = ARGV[at + 6] })
    if live then held = held + tonumber(quantity) end
  end
end

if gate.loading ~= epoch then
  if gate.loading and gate.loading ~= gate.epoch then unlinkBook(gateKey, gate.loading) end
  unlinkBook(gateKey, epoch)
end
writeBook(buyersKey, book, changed)
callInSlices('SADD', ordersKey, newOrders, 1)
redis.call('HSET', gateKey, 'seen', text(epoch), 'loading', text(epoch), 'loadedOn', server, 'loadedHeld', text(held))
return DONE
