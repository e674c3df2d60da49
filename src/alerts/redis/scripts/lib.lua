-- lib: what the scripts of alerts share; it is put before each of them.
-- Keeps    nothing is written here

local function isCount(argument)
  return argument ~= nil and #argument <= 12 and argument:find('^%d+$') ~= nil
end
