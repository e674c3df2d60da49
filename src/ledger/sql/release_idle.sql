-- release_idle: rows of items that no gate holds. A gate built later is built from the ledger, which has these pieces.
-- In      nothing
-- Out     nothing
-- Keeps   door and row are judged in one statement: what a gate holds is not touched
DELETE FROM releases r USING items i WHERE i.id = r.item AND i.door IN ('shut', 'ledger')
