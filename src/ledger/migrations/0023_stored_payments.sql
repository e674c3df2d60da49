-- stored_payments: what a provider answered to the start of a payment, and what became of it.
-- In      payments, payments_archive and the view of both of 0003 and 0016
-- Out     their columns: method; handle: the provider's own id; pay_url, qr and page_at: where the buyer pays, and since when; ended: why it
--         is void; declined_at: when the last try failed; changes: how often what buyers see of it has changed
-- Keeps   both tables have the same columns in the same order: rows move between them whole. Processes of the version before leave the new
--         columns empty, and the trigger counts their changes too

ALTER TABLE payments
  ADD COLUMN method text,
  ADD COLUMN handle text,
  ADD COLUMN pay_url text,
  ADD COLUMN qr text,
  ADD COLUMN page_at timestamptz,
  ADD COLUMN ended text,
  ADD COLUMN declined_at timestamptz,
  ADD COLUMN changes int NOT NULL DEFAULT 0;
ALTER TABLE payments_archive
  ADD COLUMN method text,
  ADD COLUMN handle text,
  ADD COLUMN pay_url text,
  ADD COLUMN qr text,
  ADD COLUMN page_at timestamptz,
  ADD COLUMN ended text,
  ADD COLUMN declined_at timestamptz,
  ADD COLUMN changes int NOT NULL DEFAULT 0;
CREATE OR REPLACE VIEW all_payments AS SELECT * FROM payments UNION ALL SELECT * FROM payments_archive;

CREATE OR REPLACE FUNCTION note_payment_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.changes := OLD.changes + 1;
  RETURN NEW;
END
$$;

CREATE TRIGGER payment_changed BEFORE UPDATE OF state, declined_at, qr ON payments FOR EACH ROW
  WHEN (OLD.state <> NEW.state OR OLD.declined_at IS DISTINCT FROM NEW.declined_at OR OLD.qr IS DISTINCT FROM NEW.qr)
  EXECUTE FUNCTION note_payment_change();
