import { isOfLink } from '../../daemon/active-fault.js'
import type { LinkFault } from '../../proxy/link-faults.js'
import type { LiveLab } from '../../live/live-lab.js'
import type { Mystery, Place, Told } from './mystery.js'

/** Returns a fault of the link between a primary and its secondary. */
const onLink = (name: string, fault: LinkFault, isOneWay: boolean, tell: (place: Place) => Told): Mystery => ({
  name,
  fits: () => true,
  async plant(lab, place) {
    await lab.setFault({ between: endsOf(place), isOneWay, fault, isHidden: true })
  },
  async isThere(lab: LiveLab, place) {
    const ends = endsOf(place)
    return (await lab.faults())
      .filter(isOfLink)
      .some(({ between, fault: set }) => set.name === fault.name && ends.every((end) => between.includes(end)))
  },
  tell,
})

const endsOf = ({ primary, secondary, isBackwards }: Place): [string, string] =>
  isBackwards ? [secondary, primary] : [primary, secondary]

const mend = ({ primary, secondary }: Place): string[] => [`heal ${primary} ${secondary}`]

export const LINK_MYSTERIES: readonly Mystery[] = [
  onLink('link-cut-one-way', { name: 'partition' }, true, (place) => {
    const [from, to] = endsOf(place)
    return {
      what: `nothing that ${from} sent reached ${to} any more; the other way was open`,
      seen: `the connection of ${place.secondary} is not ready, though both clusters answer their clients`,
      mend: mend(place),
    }
  }),
  onLink('link-cut', { name: 'partition' }, false, (place) => ({
    what: `the network between ${place.primary} and ${place.secondary} was cut`,
    seen: `the connection of ${place.secondary} is not ready, and ${place.primary} shows it as disconnected`,
    mend: mend(place),
  })),
  onLink('link-stalled', { name: 'hold' }, false, (place) => ({
    what: `the network between ${place.primary} and ${place.secondary} took everything and delivered nothing`,
    seen: `connections stay open and nothing arrives on ${place.secondary}, until keepalive gives them up`,
    mend: mend(place),
  })),
]
