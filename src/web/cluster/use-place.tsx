import { useEffect, useState } from 'preact/hooks'
import { type Place, placeOf } from './place.js'

/** Returns the current location of the page, also after the browser's back button. */
export const usePlace = (): Place | undefined => {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const look = () => setHash(location.hash)
    window.addEventListener('hashchange', look)
    return () => window.removeEventListener('hashchange', look)
  }, [])
  return placeOf(hash)
}
