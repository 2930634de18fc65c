import { DAY_AND_TIME } from '../parts/time.js'

/** Shows a server time in the user's time zone. Other texts are shown unchanged. */
export const At = ({ time }: { readonly time: string }) => {
  const ms = Date.parse(time)
  if (Number.isNaN(ms)) return <>{time}</>
  return <time dateTime={time}>{DAY_AND_TIME.format(ms)}</time>
}
