const CLOCK = { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false } as const

/** Formats a time that may be days ago: with an ISO date, as this locale has it, and with the time zone. */
export const DAY_AND_TIME = new Intl.DateTimeFormat('sv-SE', {
  ...({ year: 'numeric', month: '2-digit', day: '2-digit' } as const),
  ...({ ...CLOCK, timeZoneName: 'short' } as const),
})

/** Formats a time in the user's time zone, in seconds. */
export const SHORT_TIME = new Intl.DateTimeFormat(undefined, CLOCK)
/** Formats a time in the user's time zone, in tenths of a second. */
export const TIME = new Intl.DateTimeFormat(undefined, { ...CLOCK, fractionalSecondDigits: 1 })

/** The name of the user's time zone. */
export const { timeZone: ZONE } = TIME.resolvedOptions()
