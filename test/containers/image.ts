/** The image under test, which `npm test` builds. */
export const IMAGE = process.env.UNDERSTUDY_IMAGE ?? 'understudy'
