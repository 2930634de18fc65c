/** Local times, with tenths of a second. */
export const TIME = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 1,
  hour12: false,
})

/** Their time zone. */
export const { timeZone: ZONE } = TIME.resolvedOptions()

/** Times that may be days ago, with their time zone. */
export const DAY_AND_TIME = new Intl.DateTimeFormat(undefined, {
  ...({ year: 'numeric', month: '2-digit', day: '2-digit' } as const),
  ...({ hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false, timeZoneName: 'short' } as const),
})
