/** Which of the page's addresses is shown. Links change it without a reload; back and forward work as usual. */

import { store } from './store.ts'

export type Route =
  | { readonly kind: 'home' }
  | { readonly kind: 'sale'; readonly sale: string }
  | { readonly kind: 'orders' }
  | { readonly kind: 'order'; readonly order: string }
  | { readonly kind: 'unknown' }

export function currentRoute(path = location.pathname): Route {
  const [, first = '', second, more] = path.split('/')
  if (more !== undefined) return { kind: 'unknown' }
  if (first === '' && second === undefined) return { kind: 'home' }
  if (first === 's' && second) return { kind: 'sale', sale: second }
  if (first === 'orders') return second ? { kind: 'order', order: second } : { kind: 'orders' }
  return { kind: 'unknown' }
}

export function followLinks(arrived: () => void): void {
  const show = () => {
    store.changed()
    arrived()
  }
  window.addEventListener('popstate', show)
  window.addEventListener('click', event => {
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return
    const link = event.target instanceof Element ? event.target.closest('a') : null
    if (link === null || link.origin !== location.origin || link.target !== '' || link.hash !== '') return
    if (currentRoute(link.pathname).kind === 'unknown') return
    event.preventDefault()
    if (link.pathname !== location.pathname) history.pushState(null, '', link.pathname)
    scrollTo(0, 0)
    show()
  })
}
