/** The image under test; `npm test` builds it. */
export const IMAGE = process.env.UNDERSTUDY_IMAGE ?? 'understudy'
