{-# LANGUAGE BangPatterns #-}
-- Question: what do transactions of GHC's STM over a sorted list allow? It validates all that was read, in linear time.
import Control.Exception (evaluate)
import Control.Monad
import Data.Bits
import Data.IORef
import Data.Word
import GHC.Conc
import Transactions

data List = End | Node !Int !(TVar List)

-- The place of the first key that is not less, and what stands there.
place :: Int -> TVar List -> STM (TVar List, List)
place !key at = do
  here <- readTVar at
  case here of
    Node k next | k < key -> place key next
    _ -> pure (at, here)

contains, insert, remove :: TVar List -> Int -> STM Bool
contains list key = is key . snd <$> place key list
insert list key = do
  (at, here) <- place key list
  if is key here then pure False else newTVar here >>= writeTVar at . Node key >> pure True
remove list key = do
  (at, here) <- place key list
  case here of
    Node k next | k == key -> readTVar next >>= writeTVar at >> pure True
    _ -> pure False

is :: Int -> List -> Bool
is key (Node k _) = k == key
is _ End = False

-- The list's length; -1 if it is out of order.
count :: Int -> TVar List -> IO Int
count least at = readTVarIO at >>= go 0 least
  where
    go :: Int -> Int -> List -> IO Int
    go !n _ End = pure n
    go !n before (Node k next) = if k <= before then pure (-1) else readTVarIO next >>= go (n + 1) k

-- Marsaglia's xorshift
next64 :: Word64 -> Word64
next64 a =
  let b = a `xor` (a `shiftL` 13)
      c = b `xor` (b `shiftR` 7)
   in c `xor` (c `shiftL` 17)

-- One operation of a thread: what it draws, and what comes of it.
{-# INLINE step #-}
step :: Options -> TVar List -> STM () -> IORef (Word64, Int) -> IO ()
step o list first mine = do
  (!before, !grown) <- readIORef mine
  let !random = next64 before
      !key = fromIntegral ((random `shiftR` 8) `mod` fromIntegral (table o))
      !kind = fromIntegral ((random `shiftR` 40) `mod` 200) :: Int
      done how = atomically (first >> how list key)
      one b = if b then 1 else 0 :: Int
  !more <-
    if kind < 2 * lookups o
      then (\b -> b `seq` 0) <$> done contains
      else if even kind then one <$> done insert else negate . one <$> done remove
  writeIORef mine (random, grown + more)

main :: IO ()
main = do
  o <- options
  let keys = table o
      each = updates o `div` fibers o
  forM_ [1 - warmup o .. samples o] $ \sample -> do
    list <- newTVarIO End
    forM_ [0, 2 .. keys - 1] $ \k -> atomically (insert list k)
    own <- forM [0 .. fibers o - 1] $ \i -> newIORef (88172645463325252 + 7919 * fromIntegral i, 0)
    let once = step o list (pure ())
    (shares, seconds) <-
      if what o == "operations"
        then together (fibers o) $ \me -> evaluate (own !! me) >>= replicateM_ each . once >> pure each
        else forATime o $ \me -> once <$> evaluate (own !! me)
    let counted = 20000 `div` fibers o
    -- Counted apart: what counts takes time.
    begun <- attempts (fibers o) $ \first me ->
      evaluate (own !! me) >>= replicateM_ counted . step o list first
    grown <- sum <$> mapM (fmap snd . readIORef) own
    got <- count (-1) list
    let expected = (keys + 1) `div` 2 + grown
        aborts = fromIntegral (begun - counted * fibers o) / fromIntegral (counted * fibers o)
    when (got /= expected) $ wrong "the list's length" got expected
    when (sample > 0) $
      report seconds [("operations", fromIntegral (sum shares)), ("aborts_per_commit", aborts)] shares
