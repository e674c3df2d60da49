/** The current route, from the address bar. Links inside the page change it without a reload. */

import { store } from './store.ts'

export type Route =
  | {
      readonly kind:
        | 'sales'
        | 'new'
        | 'log'
        | 'dead'
        | 'lists'
        | 'abuse'
        | 'alerts'
        | 'payments'
        | 'webhooks'
        | 'unknown'
    }
  | { readonly kind: 'webhook'; readonly webhook: string }
  | { readonly kind: 'sale' | 'edit' | 'orders' | 'holds' | 'result'; readonly sale: string }
  | { readonly kind: 'order'; readonly order: string }

export function currentRoute(): Route {
  const [, , first = '', second = '', third = ''] = location.pathname.replace(/\/$/, '').split('/')
  if (first === '') return { kind: 'sales' }
  if (
    (first === 'new' ||
      first === 'log' ||
      first === 'dead' ||
      first === 'lists' ||
      first === 'abuse' ||
      first === 'alerts' ||
      first === 'payments') &&
    second === ''
  )
    return { kind: first }
  if (first === 'webhooks') return second === '' ? { kind: 'webhooks' } : { kind: 'webhook', webhook: second }
  if (first === 'orders' && second !== '') return { kind: 'order', order: second }
  if (first !== 'sales' || second === '') return { kind: 'unknown' }
  if (third === '') return { kind: 'sale', sale: second }
  return third === 'edit' || third === 'orders' || third === 'holds' || third === 'result'
    ? { kind: third, sale: second }
    : { kind: 'unknown' }
}

export function go(path: string): void {
  history.pushState(null, '', path)
  scrollTo(0, 0)
  store.changed()
}

export function followLinks(): void {
  document.addEventListener('click', event => {
    if (event.defaultPrevented || event.button !== 0) return
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    const link = event.target instanceof Element ? event.target.closest('a') : null
    if (link === null || link.origin !== location.origin || link.target !== '' || link.hasAttribute('download')) return
    if (
      !/^\/ops(\/|$)/.test(link.pathname) ||
      link.pathname.endsWith('/preview') ||
      (link.hash !== '' && link.pathname === location.pathname)
    )
      return
    event.preventDefault()
    go(link.pathname + link.search)
  })
  window.addEventListener('popstate', () => store.changed())
}
