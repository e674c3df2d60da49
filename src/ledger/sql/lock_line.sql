-- lock_line: locks a line until the transaction ends: no other transaction numbers a join or an end of one.
-- In      sale
-- Out     one row if it is open: salt_key, head, numbers, leaves
-- Keeps   numbers in the order of commit
SELECT salt_key, head, numbers, leaves FROM lines WHERE sale = $1 FOR UPDATE
