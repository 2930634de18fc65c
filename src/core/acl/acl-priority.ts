import type { PathPattern } from './acl-pattern.js'

/**
 * Which of two patterns that match the same path decides: negative when `a` does. The first character that is not
 * literal as late as possible; then no glob; then fewer `+`; then longer; then later in the alphabet.
 */
export const comparePriority = (a: PathPattern, b: PathPattern): number =>
  b.literalHead.length - a.literalHead.length ||
  Number(a.isGlob) - Number(b.isGlob) ||
  a.anySegments - b.anySegments ||
  b.text.length - a.text.length ||
  (a.text < b.text ? 1 : a.text > b.text ? -1 : 0)
