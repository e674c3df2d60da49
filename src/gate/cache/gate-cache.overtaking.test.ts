import { describe, test } from 'bun:test'
import { createKeyedHash } from '../../admission/rate/keyed-hash.ts'
import { type Random, seededRandom, systemRandom } from '../../base/random.ts'
import { placesOf, shardOf } from '../shard-ids.ts'
import { FRESH_MS, handClock, ITEM, look, placeLook } from './gate-cache.fixture.ts'
import { createGateCache } from './gate-cache.ts'

interface Counted {
  readonly version: number
  readonly buyers: ReadonlySet<string>
}

/**
 * A gate, a channel that keeps the order and may break, looks and replies that overtake it, all under one seed. Messages are lost only
 * between a break and the word that there was one. The item has one place, or several; then an epoch now and then has one.
 */
class Scene {
  readonly #random: Random
  readonly #refusals: boolean
  readonly #shards: number
  #places: readonly string[]
  readonly #clock = handClock()
  readonly #far = createGateCache({ clock: this.#clock, hash: createKeyedHash(systemRandom), freshMs: FRESH_MS })
  #epoch = 1
  /** Of each place. */
  #versions: number[]
  #made = 0
  /** buyer → whether the gate still knows of it. */
  #gate = new Set<string>()
  #channel: (() => void)[] = []
  #broken = false
  readonly #underway: (() => void)[] = []
  #reload: Promise<void> | undefined
  #nextPage: (() => void) | undefined
  /** Whom the newest look that has arrived counted, in each place of its epoch. */
  #counted = { epoch: 0, places: [] as Counted[] }
  readonly #heard = new Set<string>()

  constructor(random: Random, refusals: boolean, shards: number) {
    this.#random = random
    this.#refusals = refusals
    this.#shards = shards
    this.#places = placesOf(ITEM, shards)
    this.#versions = this.#places.map(() => 0)
  }

  #shardOf(buyer: string): number {
    return shardOf(buyer, this.#places.length)
  }

  /** Of the gate's buyers, those of this place. */
  #buyersIn(shard: number): Set<string> {
    return new Set([...this.#gate].filter(buyer => this.#shardOf(buyer) === shard))
  }

  #below(n: number): number {
    return Math.floor(this.#random.next() * n)
  }

  async step(): Promise<void> {
    const chance = this.#below(100)
    if (chance < 30) this.#reserve()
    else if (chance < 50) this.#deliver()
    else if (chance < 62) this.#look()
    else if (chance < 78) this.#arrive()
    else if (chance < 80) this.#break()
    else if (chance < 84) this.#mend()
    else if (chance < 86 && this.#refusals) this.#refuse()
    else if (chance < 88) this.#versions[this.#below(this.#versions.length)]! += 1
    else if (chance < 90) this.#nextEpoch()
    else if (chance < 95) this.#clock.go(this.#below(700))
    else if (this.#reload === undefined) this.#startReload()
    else this.#nextPage?.()
    // Lets a reload take its next page.
    for (let i = 0; i < 8; i++) await Promise.resolve()
    this.check()
  }

  /** Everything that is underway arrives, and what is incomplete is reloaded: then strangers are a no again. */
  async quiet(): Promise<void> {
    this.#mend()
    while (this.#channel.length > 0) this.#deliver()
    while (this.#underway.length > 0) this.#arrive()
    await this.#reloaded()
    this.#clock.go(1)
    this.#statusNow()
    this.#clock.go(1_000)
    for (let i = 0; i < this.#shards; i++) {
      this.#startReload()
      await this.#reloaded()
    }
    this.#clock.go(1)
    this.#statusNow()
    const buyers = this.#gate.size
    const shown = this.#far.statusNow(ITEM)
    if (shown?.buyers !== buyers) throw new Error(`${buyers} buyers, ${shown?.buyers} are shown`)
    if (this.#far.knows(ITEM, 'nobody')) throw new Error('yes to a stranger when all is quiet')
  }

  #statusNow(): void {
    this.#look()
    this.#arrive()
    this.check()
  }

  async #reloaded(): Promise<void> {
    while (this.#reload !== undefined) {
      this.#nextPage?.()
      for (let i = 0; i < 8; i++) await Promise.resolve()
    }
  }

  check(): void {
    // With refusals, one that was refused may stand in for one whose message is underway; not for longer than that.
    if (this.#refusals && (this.#channel.length > 0 || this.#broken)) return
    for (const buyer of this.#counted.places.flatMap(place => [...place.buyers])) {
      if (this.#gate.has(buyer) && !this.#far.knows(ITEM, buyer)) throw new Error(`no to ${buyer}, who was counted`)
    }
    for (const buyer of this.#heard) {
      if (this.#gate.has(buyer) && !this.#far.knows(ITEM, buyer)) throw new Error(`no to ${buyer}, who was heard of`)
    }
  }

  #reserve(): void {
    const buyers = Array.from({ length: 1 + this.#below(3) }, () =>
      this.#below(8) === 0 && this.#made > 0 ? `b${this.#below(this.#made)}` : `b${this.#made++}`,
    )
    // A batch is of one place.
    for (const [shard, mine] of Map.groupBy(buyers, buyer => this.#shardOf(buyer))) this.#taken(shard, mine)
  }

  #taken(shard: number, buyers: readonly string[]): void {
    this.#versions[shard]! += 1
    for (const buyer of buyers) this.#gate.add(buyer)
    const [place, epoch, version] = [this.#places[shard]!, this.#epoch, this.#versions[shard]!]
    const tell = () => {
      for (const buyer of buyers) this.#heard.add(buyer)
      this.#far.reserved(place, epoch, version, 1, buyers)
    }
    if (!this.#broken) this.#channel.push(tell)
    // Ours: the reply comes on another way.
    if (this.#below(3) === 0) this.#underway.push(tell)
  }

  #deliver(): void {
    this.#channel.shift()?.()
  }

  #look(): void {
    const askedAtMs = this.#clock.elapsed()
    this.#clock.go(this.#below(3))
    const places = this.#places.map((place, shard) => ({
      place,
      version: this.#versions[shard]!,
      buyers: this.#buyersIn(shard),
    }))
    const sum = {
      epoch: this.#epoch,
      version: this.#versions.reduce((one, other) => one + other),
      buyers: this.#gate.size,
    }
    const taken = look(
      places.length === 1 ? sum : { ...sum, places: places.map(one => placeLook({ ...one, buyers: one.buyers.size })) },
    )
    this.#underway.push(() => {
      if (taken.epoch > this.#counted.epoch) this.#counted = { epoch: taken.epoch, places: [...places] }
      else if (taken.epoch === this.#counted.epoch)
        for (const [i, one] of places.entries())
          if (one.version >= this.#counted.places[i]!.version) this.#counted.places[i] = one
      this.#far.seen(taken, askedAtMs)
    })
  }

  #arrive(): void {
    const [one] = this.#underway.splice(this.#below(this.#underway.length), 1)
    one?.()
  }

  #break(): void {
    this.#broken = true
    this.#channel = []
  }

  #mend(): void {
    if (!this.#broken) return
    this.#broken = false
    this.#clock.go(1)
    this.#far.missed()
  }

  #refuse(): void {
    const all = [...this.#gate]
    const one = all[this.#below(all.length)]
    if (one === undefined) return
    this.#gate.delete(one)
    this.#heard.delete(one)
    this.#versions[this.#shardOf(one)]! += 1
  }

  #nextEpoch(): void {
    this.#epoch += 1 + (this.#below(4) === 0 ? 1 : 0)
    this.#places = placesOf(ITEM, this.#below(3) === 0 ? 1 : this.#shards)
    this.#versions = this.#places.map(() => 0)
    this.#gate = new Set(this.#gate)
  }

  #startReload(): void {
    const place = this.#far.incomplete().find(one => this.#places.includes(one))
    if (place === undefined) return
    const scene = this
    const epoch = this.#epoch
    async function* pages() {
      // Like a scan: whoever was there when it began is shown, whoever came since may be.
      const all = [...scene.#buyersIn(scene.#places.indexOf(place!))]
      for (let from = 0; from < all.length; from += 5) {
        yield all.slice(from, from + 5)
        await new Promise<void>(next => {
          scene.#nextPage = next
        })
      }
    }
    this.#reload = this.#far.reload(place, epoch, pages()).then(() => {
      this.#reload = undefined
      this.#nextPage = undefined
    })
  }
}

describe('never a wrong no, whatever overtakes what; and strangers are a no when all is quiet', () => {
  const seed = Math.floor(systemRandom.next() * 2 ** 31)
  test.each([
    [false, 1],
    [true, 1],
    [false, 3],
    [true, 3],
  ])('reservations refused now and then: %p, places: %p', async (refusals, shards) => {
    console.log(`  seed ${seed}`)
    for (let round = 0; round < 300; round++) {
      const scene = new Scene(seededRandom(seed + round), refusals, shards)
      try {
        for (let i = 0; i < 150; i++) await scene.step()
        await scene.quiet()
      } catch (error) {
        throw new Error(`seed ${seed + round}: ${error instanceof Error ? error.message : error}`)
      }
    }
  })
})
