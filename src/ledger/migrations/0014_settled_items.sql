-- settled_items: of which items all that a lapsed process had reserved is in the ledger.
-- In      the tables of 0008
-- Out     node_items.settled_until
-- Keeps   it is the end of the lease that lapsed: a process that comes back renews its lease, which then ends at another moment, and the mark
--         is void. A process of an older version does not read it, and takes the item for unsettled

ALTER TABLE node_items ADD COLUMN settled_until timestamptz;
