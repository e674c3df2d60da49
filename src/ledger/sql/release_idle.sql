-- release_idle: deletes release rows of items that no gate holds. A gate built later is built from the ledger, which has these units.
-- Keeps   door and row are judged in one statement: rows of items that a gate holds stay
DELETE FROM releases r USING items i WHERE i.id = r.item AND i.door IN ('shut', 'ledger')
