-- looked_again: payments that were cancelled and may still be paid for a while are asked about until then.
-- In      payments, payments_archive and the view of both of 0003, 0016 and 0023
-- Out     their column look_until; an index of the payments that have one
-- Keeps   both tables have the same columns in the same order. Processes of the version before leave it empty

ALTER TABLE payments ADD COLUMN look_until timestamptz;
ALTER TABLE payments_archive ADD COLUMN look_until timestamptz;
CREATE OR REPLACE VIEW all_payments AS SELECT * FROM payments UNION ALL SELECT * FROM payments_archive;
CREATE INDEX payments_to_look ON payments (next_try_at) WHERE state = 'void' AND look_until IS NOT NULL;
