-- history: what the running system asks is found by what is live, however many sales have ended.
-- In      the tables of 0001 and 0003, the index of 0013
-- Out     sales.reported: does the sale have its final report? Indexes of the sales by opening, by end and without a final report, and of
--         the items that a gate sells. Indexes of orders, payments and the log are built later, by the leader (ledger/postgres/indexes)
-- Keeps   sales.reported is written with the report, in its transaction, whichever version writes it: it is never older than the report

ALTER TABLE sales ADD COLUMN reported boolean NOT NULL DEFAULT false;

CREATE FUNCTION mark_reported() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE sales SET reported = NEW.final WHERE id = NEW.sale AND reported <> NEW.final;
  RETURN NULL;
END
$$;

CREATE TRIGGER report_added AFTER INSERT ON reconciliations FOR EACH ROW WHEN (NEW.final) EXECUTE FUNCTION mark_reported();
CREATE TRIGGER report_changed AFTER UPDATE OF final ON reconciliations FOR EACH ROW WHEN (NEW.final <> OLD.final)
  EXECUTE FUNCTION mark_reported();

UPDATE sales SET reported = true WHERE EXISTS (SELECT FROM reconciliations r WHERE r.sale = sales.id AND r.final);

CREATE INDEX sales_opens ON sales (opens_at, id);
CREATE INDEX sales_closes ON sales (closes_at);
-- Small for good: drafts, what is to come, what is on sale, and what is not settled yet.
CREATE INDEX sales_unreported ON sales (id) WHERE NOT reported;
-- The door changes with the epoch, never with an order.
CREATE INDEX items_open ON items (id) WHERE door IN ('gate', 'draining');
