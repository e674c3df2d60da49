-- sale_state: what the gate must know of a sale.
-- In      sale
-- Out     state, word_no, opens_at, closes_at; no row if there is no such sale
-- Keeps   a plain read of the primary; one row, however many items the sale has
SELECT state, word_no, opens_at, closes_at FROM sales WHERE id = $1
