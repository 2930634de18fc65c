import { useEffect, useState } from 'preact/hooks'
import { type Place, placeOf } from './place.js'

/** Where the page is, also after "back". */
export const usePlace = (): Place | undefined => {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const look = () => setHash(location.hash)
    window.addEventListener('hashchange', look)
    return () => window.removeEventListener('hashchange', look)
  }, [])
  return placeOf(hash)
}
