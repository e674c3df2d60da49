/** A device that is held in the hand: the apps that pay are on it. */
export function onPhone(): boolean {
  return matchMedia('(hover: none) and (pointer: coarse)').matches
}
