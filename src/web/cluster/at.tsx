import { DAY_AND_TIME } from '../parts/time.js'

/** A moment as the server wrote it, in the zone of whoever looks; what is no moment stays as it is. */
export const At = ({ time }: { readonly time: string }) => {
  const ms = Date.parse(time)
  if (Number.isNaN(ms)) return <>{time}</>
  return <time dateTime={time}>{DAY_AND_TIME.format(ms)}</time>
}
