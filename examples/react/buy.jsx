/** One item: countdown, quantity, the button in every state, payment. How it looks is in shop.css, by variables. */

import { useEffect, useState } from 'react'
import { client } from './buyer.js'
import { useOrder, useServerTime } from './use-sale.js'

const WORDS = {
  before: 'Not open yet',
  live: 'Buy now',
  waiting: 'Waiting for the opening…',
  asking: 'Asking…',
  reserved: 'Reserved for you…',
  pending: 'Pay now',
  paid: 'Paid. Thank you!',
  paused: 'Paused for a moment',
  sold_out: 'Sold out',
  over: 'The sale is over',
}
const REFUSED = {
  sold_out: 'It was sold out a moment before.',
  not_enough: 'Fewer are left than you asked for.',
  attempts_used: 'You have used all your attempts.',
}

export function Buy({ sale, item, offsetMs }) {
  const nowMs = useServerTime(offsetMs)
  const [order, setOrder] = useOrder(item.id)
  const [quantity, setQuantity] = useState(1)
  const [doing, setDoing] = useState()
  const [note, setNote] = useState('')
  const ticket = useTicket(sale, item, nowMs < Date.parse(sale.opensAt))

  const state = doing ?? stateOf(sale, item, order, nowMs)
  const press = () => (state === 'pending' ? pay() : buy())

  async function buy() {
    setNote('')
    try {
      const onState = ({ kind }) => setDoing(kind)
      setOrder(await client.buy(sale.id, item.id, { quantity, ticket, onState }))
    } catch (error) {
      setNote(REFUSED[error.code] ?? `That did not work (${error.code ?? error}). Please try again.`)
    }
    setDoing(undefined)
  }

  async function pay() {
    try {
      const { payUrl, qr } = await client.pay(order.id, { returnUrl: location.href })
      if (qr === undefined) location.assign(payUrl)
      else setNote(`Scan this code to pay: ${qr}`)
    } catch (error) {
      setNote(`The payment could not begin (${error.code ?? error}). Please try again.`)
    }
  }

  const untilMs = state === 'before' ? Date.parse(sale.opensAt) : state === 'pending' ? Date.parse(order.payBy) : 0
  const choosing = item.quantityMax > 1 && (state === 'before' || state === 'live')
  return (
    <section className="buy" data-state={state}>
      <h2>{item.name}</h2>
      <p>
        {price(item.price)} · {item.left} left
      </p>
      {untilMs > 0 && <p className="clock">{clock(untilMs - nowMs)}</p>}
      {choosing && (
        <div className="quantity">
          <button type="button" aria-label="Fewer" onClick={() => setQuantity(Math.max(1, quantity - 1))}>
            −
          </button>
          <output aria-label="Quantity">{quantity}</output>
          <button type="button" aria-label="More" onClick={() => setQuantity(Math.min(item.quantityMax, quantity + 1))}>
            +
          </button>
        </div>
      )}
      <button type="button" disabled={state !== 'live' && state !== 'pending'} onClick={press}>
        {WORDS[state] ?? state}
      </button>
      <p role="status">{note}</p>
    </section>
  )
}

/** An order that is open or paid counts before what the sale says: it is the buyer's, also when all is sold out. */
function stateOf(sale, item, order, nowMs) {
  if (order !== undefined && order.state !== 'closed') return order.state
  if (sale.state === 'over' || nowMs >= Date.parse(sale.closesAt)) return 'over'
  if (nowMs < Date.parse(sale.opensAt)) return 'before'
  if (sale.state === 'paused') return 'paused'
  return item.left > 0 ? 'live' : 'sold_out'
}

/** The right to try, fetched at a random moment before the opening. Without it `buy` gets one: later, when all others do. */
function useTicket(sale, item, before) {
  const [ticket, setTicket] = useState()
  const { id, opensAt, ticketsBeforeSeconds } = sale
  useEffect(() => {
    if (!before) return
    let timer
    let stopped = false
    const fetchTicket = async () => {
      const waitMs = client.ticketMomentMs({ opensAt, ticketsBeforeSeconds }) - (await client.serverNowMs())
      await new Promise(resolve => {
        timer = setTimeout(resolve, Math.max(0, waitMs))
      })
      const given = await client.ticket(id, item.id)
      if (!stopped) setTicket(given.ticket)
    }
    fetchTicket().catch(error => console.info(`${error.code}: no ticket before the opening`))
    return () => {
      stopped = true
      clearTimeout(timer)
    }
  }, [id, item.id, opensAt, ticketsBeforeSeconds, before])
  return ticket
}

function price({ amount, currency }) {
  const format = new Intl.NumberFormat(undefined, { style: 'currency', currency })
  return format.format(amount / 10 ** (format.resolvedOptions().maximumFractionDigits ?? 2))
}

function clock(ms) {
  const seconds = Math.max(0, Math.ceil(ms / 1_000))
  const two = number => String(number).padStart(2, '0')
  return `${two(Math.floor(seconds / 3_600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`
}
