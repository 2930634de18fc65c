/** Times of this page: local, to a tenth of a second. */
export const TIME = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 1,
  hour12: false,
})

/** The zone that they are of. */
export const { timeZone: ZONE } = TIME.resolvedOptions()

/** Moments that may be days ago, each with its zone. */
export const DAY_AND_TIME = new Intl.DateTimeFormat(undefined, {
  ...({ year: 'numeric', month: '2-digit', day: '2-digit' } as const),
  ...({ hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false, timeZoneName: 'short' } as const),
})
